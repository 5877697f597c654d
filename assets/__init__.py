"""Data that is shipped with the project; read it with `importlib.resources.files("mlxdecoder.assets")`."""
