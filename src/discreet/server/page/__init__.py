"""The web page: templates and a few hand-written modules around the same API that programs use.

A page shows what its person may know, in HTML made on the server; everything that is asked, charged
or changed goes through the API, with its roles and limits.
"""
