"""The programs, one module a theme; catalogue.load() imports them all."""
