"""File formats, under PyFlink's paths; written in formats/"""
