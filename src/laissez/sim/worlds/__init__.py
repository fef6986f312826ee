"""What tenants run, as it really goes: service, training and batch at work on the nodes they are
given. Prices and clouds are not known here."""
