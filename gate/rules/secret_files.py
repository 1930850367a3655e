"""Which paths hold secrets by their names: keys, credentials, environment files, and the stores of common tools."""

from __future__ import annotations

import re

# A path to something that holds secrets, as its canonical form ends.
SECRET_FILE = (
    r"(?i)(^|[/\\=\s@,;&|])[.#]{0,2}(\.env([._-](?!(example|sample|template|dist)$)[\w-]{1,40})?"
    r"(\.(?!(example|sample|template|dist)$)[\w-]{1,40}){0,2}|(?!(example|sample|template|dist)\.)[\w-]{1,60}\.env|"
    r"\.envrc|[._]netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|\.git-credentials|\.my\.cnf|\.vault-token|\.dockercfg|"
    r"\.dockerconfigjson|\.s3cfg|\.boto|\.(ssh|kube)[/\\]config|\.docker[/\\]config\.json|gh[/\\]hosts\.yml|"
    r"etc[/\\]g?shadow-?|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|([\w-]{1,40}\.)?kubeconfig(\.ya?ml)?|rclone\.conf|"
    r"[\w.-]{0,60}\.(pem|key|p8|p12|pfx|ppk|jks|keystore|kdbx|tfstate)|credentials(\.\w{1,10})?|secring\.gpg|"
    r"[\w-]{1,40}[_-]credentials\.(json|ya?ml|toml|ini|csv)|client_secrets?[\w.-]{0,90}\.json|"
    r"secrets?\.(ya?ml|json|toml|ini|txt|env)|service[_-]?account[\w-]{0,40}\.json|wp-config\.php|"
    r"local\.settings\.json)"
    r"(~|#|\.(bak|old|orig|save|backup|copy|swp|tmp|txt|\d{1,3})|\s\(\d{1,3}\)){0,2}$"
)
SECRET = re.compile(SECRET_FILE)
# Such paths, which a pattern of names may match.
SECRET_NAMES = tuple(
    ".env .env.local .env.production.local x.env .envrc .netrc .pgpass .npmrc .pypirc .htpasswd .git-credentials "
    ".my.cnf .vault-token .dockercfg .ssh/config .kube/config .docker/config.json id_rsa id_dsa id_ecdsa "
    "id_ed25519 x.pem x.key x.p8 x.p12 x.pfx x.ppk x.jks x.keystore x.kdbx x.tfstate credentials credentials.json "
    "application_default_credentials.json secret.yml secrets.yml secrets.json service-account.json "
    "client_secret.json kubeconfig .dockerconfigjson .s3cfg .boto rclone.conf secring.gpg wp-config.php "
    "local.settings.json gh/hosts.yml etc/shadow".split()
)
LAST_NAMES = tuple((secret, secret.rpartition("/")[2]) for secret in SECRET_NAMES)
ALL_LAST_NAMES = "\n".join(last for _, last in LAST_NAMES)
