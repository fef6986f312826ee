"""The console in a real browser, on a real server. One worker does all of it, with one browser and
few servers."""
