"""A transport of httpx to an application in this process, without a network."""

from __future__ import annotations

import httpx

from laissez.server.http.app import App
from laissez_check.in_process import Exchange, head_of


class InProcess(httpx.AsyncBaseTransport):
    def __init__(self, app: App) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        content = await request.aread()
        head = head_of(request.method, request.url.raw_path.decode(), request.headers.raw)
        if "transfer-encoding" in request.headers:
            content = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)
        exchange = Exchange(self._app, head, content)
        await exchange.ended()
        if not exchange.is_complete:
            raise httpx.RemoteProtocolError("closed before it was answered", request=request)
        return httpx.Response(
            exchange.status, headers=exchange.headers, content=exchange.body, request=request
        )
