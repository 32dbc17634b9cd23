# gunicorn.conf.py
bind = "0.0.0.0:8080"
workers = 2 * 16          # 2 x cores
preload_app = False
timeout = 120
