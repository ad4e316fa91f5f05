from django.apps import AppConfig


class SitesConfig(AppConfig):
    name = "backend.sites"
