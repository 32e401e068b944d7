#!/usr/bin/python3
"""Calls the web-hook as the payment service does:  hook.py URL PAYMENT STATUS     signed with HOOK_SECRET"""
import hashlib, hmac, json, os, sys, urllib.error, urllib.request


def call(hook, payment, status):
    """The HTTP status of the answer."""
    body = json.dumps({"payment": payment, "status": status}).encode()
    signature = hmac.new(os.environ["HOOK_SECRET"].encode(), body, hashlib.sha256).hexdigest()
    try:
        with urllib.request.urlopen(urllib.request.Request(hook, body, {"Signature": signature})) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


if __name__ == "__main__":
    print(call(*sys.argv[1:]))
