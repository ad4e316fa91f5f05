from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "backend.web"

    def ready(self) -> None:
        # Importing registers the checks; it needs Django's apps, so it cannot be at the top.
        from backend.web import checks  # noqa: F401, PLC0415
