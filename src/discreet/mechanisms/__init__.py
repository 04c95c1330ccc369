"""One release each: a mechanism is a frozen value that knows its whole law."""
