"""Asks a dispatcher over its REST API, from any machine.  Next: client/rest_client.py"""

from headrace.client.rest_client import RestClient

__all__ = ["RestClient"]
