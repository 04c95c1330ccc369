"""The curator on a network: a service for people who are not trusted, and a page that they use.

An adapter. What is promised is promised by `discreet.curator`; here it is only made sure that
nothing besides an answer reaches the asker: not the time it took, not its length, not an error.
"""
