"""The commands, one module each: what it takes (`add_parser`) and what it does (`run`)."""
