#!/bin/sh
exec gunicorn --workers 2 --preload --timeout 120 -b 0.0.0.0:8080 service:app
