"""What of allauth is used: signing in and out, passwords, second factors, passkeys, single sign-on.

Its other pages have no templates of ours.
"""

from allauth.account import views
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from django.urls import path, re_path
from django.views.generic import RedirectView

from backend.accounts.passkey_views import AddPasskeyView, PasskeySignInView, RemovePasskeyView
from backend.accounts.views import (
    NewRecoveryCodesView,
    RecoveryCodesView,
    SecondFactorOffView,
    SecondFactorOnView,
    SecondStepView,
    SignInView,
    begin_single_sign_on,
    connect_single_sign_on,
    disconnect_single_sign_on,
)

urlpatterns = [
    path("login/", SignInView.as_view(), name="account_login"),
    path("logout/", views.logout, name="account_logout"),
    path("signup/", views.signup, name="account_signup"),
    path("inactive/", views.account_inactive, name="account_inactive"),
    path("password/change/", views.password_change, name="account_change_password"),
    path("password/set/", views.password_set, name="account_set_password"),
    path("password/reset/", views.password_reset, name="account_reset_password"),
    path("password/reset/done/", views.password_reset_done, name="account_reset_password_done"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]{1,13})-(?P<key>[0-9A-Za-z_-]{1,100})/$",
        views.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("password/reset/key/done/", views.password_reset_from_key_done, name="account_reset_password_from_key_done"),
    path("password/again/", views.reauthenticate, name="account_reauthenticate"),
    path("single-sign-on/connect/", connect_single_sign_on, name="account_connect"),
    path("single-sign-on/disconnect/", disconnect_single_sign_on, name="account_disconnect"),
    path("single-sign-on/<slug:provider_id>/", begin_single_sign_on, name="openid_connect_login"),
    path("single-sign-on/<slug:provider_id>/callback/", openid_connect.callback, name="openid_connect_callback"),
    path("second-factor/", RedirectView.as_view(pattern_name="web:profile"), name="mfa_index"),
    path("second-factor/sign-in/", SecondStepView.as_view(), name="mfa_authenticate"),
    path("second-factor/on/", SecondFactorOnView.as_view(), name="mfa_activate_totp"),
    path("second-factor/off/", SecondFactorOffView.as_view(), name="mfa_deactivate_totp"),
    path("second-factor/codes/", RecoveryCodesView.as_view(), name="mfa_view_recovery_codes"),
    path("second-factor/codes/new/", NewRecoveryCodesView.as_view(), name="mfa_generate_recovery_codes"),
    path("passkeys/", RedirectView.as_view(pattern_name="web:profile"), name="mfa_list_webauthn"),
    path("passkeys/add/", AddPasskeyView.as_view(), name="mfa_add_webauthn"),
    path("passkeys/<int:pk>/remove/", RemovePasskeyView.as_view(), name="mfa_remove_webauthn"),
    path("passkeys/sign-in/", PasskeySignInView.as_view(), name="mfa_login_webauthn"),
]
