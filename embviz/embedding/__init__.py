"""The mathematics of the input layer: torch and numpy, no files, no network, no screen."""
