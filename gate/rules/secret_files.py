"""Which paths hold secrets by their names: keys, credentials, environment files, and the stores of common tools."""

from __future__ import annotations

import re

# A path to something that holds secrets, as its canonical form ends.
SECRET_FILE = (
    r"(?i)(^|[/\\=\s@,;&|])[.#]{0,2}(\.env([._-](?!(example|sample|template|dist)$)[\w-]{1,40})?"
    r"(\.(?!(example|sample|template|dist)$)[\w-]{1,40}){0,2}|\.envs[/\\]([\w.-]{1,60}[/\\]){0,2}\.[\w-]{1,40}|"
    r"(?!([\w-]{1,99}\.){0,3}(example|sample|template|dist)\.env)"
    r"[\w-]{1,99}(\.[\w-]{1,60}){0,3}\.env|"
    r"\.envrc|[._]netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|\.git-credentials|\.my\.cnf|\.vault-token|\.dockercfg|"
    r"\.dockerconfigjson|\.s3cfg|\.boto|\.(ssh|kube)[/\\]config|\.docker[/\\]config\.json|gh[/\\]hosts\.yml|"
    r"etc[/\\]g?shadow-?|proc[/\\]([^/\\\s]{1,40}[/\\]){1,3}(environ|mem)|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|([\w-]{1,40}\.)?kubeconfig(\.ya?ml)?|rclone\.conf|"
    r"[\w.-]{0,60}\.(pem|key|p8|p12|pfx|ppk|jks|keystore|kdbx|tfstate)|credentials(\.\w{1,10})?|secring\.gpg|"
    r"[\w-]{1,40}[_-]credentials\.(json|ya?ml|toml|ini|csv)|client_secrets?[\w.-]{0,90}\.json|"
    r"secrets?\.(ya?ml|json|toml|ini|txt|env)|service[_-]?account[\w-]{0,40}\.json|wp-config\.php|"
    r"local\.settings\.json)"
    r"(~|#|\.(gz|bz2|xz|zip|7z|asc|swp|tmp|txt)|\s?\(\d{1,3}\)|"
    r"([._]\d{1,14}|-\d{4,14}|(?<!credentials) \d{1,3})([T._-]\d{1,6}){0,5}|"
    r"[._-](bkp?|prev(ious)?|last|rej|disabled|off|rpm(save|orig|new)|(dpkg|ucf)-[a-z]{3,6})|"
    r"[\s._-]{1,3}\(?(bak|old|orig|save|backup|copy|kopie)( ?\d{1,3})?\)?){0,3}$"
)
SECRET = re.compile(SECRET_FILE)
# Such paths, which a pattern of names may match.
SECRET_NAMES = tuple(
    ".env .env.local .env.production.local x.env .envrc .netrc .pgpass .npmrc .pypirc .htpasswd .git-credentials "
    ".my.cnf .vault-token .dockercfg .ssh/config .kube/config .docker/config.json id_rsa id_dsa id_ecdsa "
    "id_ed25519 x.pem x.key x.p8 x.p12 x.pfx x.ppk x.jks x.keystore x.kdbx x.tfstate credentials credentials.json "
    "application_default_credentials.json secret.yml secrets.yml secrets.json service-account.json "
    "client_secret.json kubeconfig .dockerconfigjson .s3cfg .boto rclone.conf secring.gpg wp-config.php "
    "local.settings.json gh/hosts.yml etc/shadow proc/self/environ".split()
)
