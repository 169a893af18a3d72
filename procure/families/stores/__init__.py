"""What stores read, write and endure, and what the ports of readers take."""

SETTINGS = ("read_ports",)
