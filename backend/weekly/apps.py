from django.apps import AppConfig


class WeeklyConfig(AppConfig):
    name = "backend.weekly"
