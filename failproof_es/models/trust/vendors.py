"""The one table of vendors: the variables that hold a vendor's secrets, and the vendor's own hosts.

A provider takes its vendor from this table; `permissions` uses the table to decide which variable
may go to which host. To add a vendor, add a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from urllib.parse import urlsplit

GOOGLE_CREDENTIALS = "google"
"""The value of the option `credentials` for tokens of `google-auth`."""
ENTRA_CREDENTIALS = "entra"
"""The value of the option `credentials` for tokens of `azure-identity`."""


def credentials_name(credentials: str) -> str:
    """The name for a library's token, in place of a variable's name: `credentials:google`."""
    return f"credentials:{credentials}"


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor of models."""

    name: str
    variables: tuple[str, ...]
    """The variables of its secrets; the first is the default key variable of its provider."""
    hosts: tuple[str, ...]
    """Its own hosts. `*` stands for letters, digits and dashes, that is, one part of a name."""

    @property
    def variable(self) -> str:
        """The default key variable, for entries of `models:` that name none."""
        return self.variables[0]

    def owns(self, url: str | None) -> bool:
        """Whether the URL is certainly the vendor's own: https, its host, port 443, no user."""
        try:
            parts = urlsplit(url or "")
            usual = parts.port in (None, 443)
        except ValueError:  # no URL: an error of the configuration, which is reported there
            return False
        host = parts.hostname or ""
        own = any(host_matches(pattern, host) for pattern in self.hosts)
        return own and usual and parts.scheme == "https" and parts.username is None


@cache
def _host_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern.lower()).replace(r"\*", "[a-z0-9-]+"))


def host_matches(pattern: str, host: str) -> bool:
    """Whether a host name matches a pattern of `Vendor.hosts`, in any case."""
    return _host_pattern(pattern).fullmatch(host.lower()) is not None


OPENAI = Vendor("OpenAI", ("OPENAI_API_KEY",), ("api.openai.com",))
ANTHROPIC = Vendor(
    "Anthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), ("api.anthropic.com",)
)
GEMINI = Vendor(
    "Google", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), ("generativelanguage.googleapis.com",)
)
VERTEX = Vendor(
    "Google Cloud",
    ("GOOGLE_ACCESS_TOKEN", credentials_name(GOOGLE_CREDENTIALS)),
    (
        *("aiplatform.googleapis.com", "*-aiplatform.googleapis.com"),
        "aiplatform.*.rep.googleapis.com",
    ),
)
BEDROCK = Vendor(
    "Amazon Bedrock",
    (
        *("AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"),
        "AWS_SESSION_TOKEN",
    ),
    ("bedrock-runtime.*.amazonaws.com", "bedrock-runtime-fips.*.amazonaws.com"),
)
"""Amazon gives such host names to no customer's machine."""
AZURE = Vendor(
    "Azure OpenAI",
    ("AZURE_OPENAI_API_KEY", credentials_name(ENTRA_CREDENTIALS)),
    ("*.openai.azure.com", "*.cognitiveservices.azure.com"),
)
MISTRAL = Vendor("Mistral", ("MISTRAL_API_KEY",), ("api.mistral.ai",))
OPENROUTER = Vendor("OpenRouter", ("OPENROUTER_API_KEY",), ("openrouter.ai",))
OLLAMA = Vendor("Ollama", ("OLLAMA_API_KEY",), ("ollama.com",))

VENDORS = (
    *(value for value in list(globals().values()) if isinstance(value, Vendor)),
    # Vendors without a provider of their own: their APIs follow another provider's protocol.
    Vendor("Cohere", ("COHERE_API_KEY", "CO_API_KEY"), ("api.cohere.com", "api.cohere.ai")),
    Vendor("DeepSeek", ("DEEPSEEK_API_KEY",), ("api.deepseek.com",)),
    Vendor("Fireworks", ("FIREWORKS_API_KEY",), ("api.fireworks.ai",)),
    Vendor("Groq", ("GROQ_API_KEY",), ("api.groq.com",)),
    Vendor("Hugging Face", ("HF_TOKEN",), ("router.huggingface.co", "huggingface.co")),
    Vendor("NVIDIA", ("NVIDIA_API_KEY",), ("integrate.api.nvidia.com",)),
    Vendor("Perplexity", ("PERPLEXITY_API_KEY",), ("api.perplexity.ai",)),
    Vendor("Together", ("TOGETHER_API_KEY",), ("api.together.xyz", "api.together.ai")),
    Vendor("xAI", ("XAI_API_KEY",), ("api.x.ai",)),
)
"""Every vendor whose variables are known."""

SECRETS_OF_OTHERS = (
    *("AWS_*", "AZURE_*", "GOOGLE_APPLICATION_CREDENTIALS", "GCP_*", "CLOUDSDK_*"),
    *("GITHUB_*", "GH_*", "GITLAB_*", "CI_*", "ACTIONS_*", "NPM_*", "PYPI_*", "TWINE_*", "UV_*"),
    *("NODE_*", "CARGO_*", "*REGISTRY*", "CLOUDFLARE_*", "DIGITALOCEAN_*", "TF_*", "ANSIBLE_*"),
    *("DATABASE_*", "*_DATABASE_URL", "PG*", "POSTGRES_*", "MYSQL_*", "REDIS_*", "MONGO*"),
    *("*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*PASS", "*PWD", "*CREDENTIAL*", "*PRIVATE_KEY*"),
    *("*SECRET*", "*OAUTH*", "*AUTH_TOKEN", "*ADMIN_KEY", "JWT*", "*COOKIE*", "*SESSION*"),
    *("*_DSN", "*WEBHOOK*", "*SIGNING_KEY*", "*ENCRYPTION_KEY*"),
    *("FAILPROOF_ES_*", "OTEL_*", "SSH*", "KUBE*", "DOCKER_*", "VAULT_*", "STRIPE_*", "SLACK_*"),
    *("HF_*", "HUGGING_FACE_*", "HUGGINGFACE*", "SENTRY_*", "SMTP_*", "credentials:*"),
)
"""Variables that are secrets of something other than a model, as patterns of `fnmatch`."""
_OF_VENDORS = tuple(
    {
        f"{variable.partition('_')[0]}_*"
        for vendor in VENDORS
        for variable in vendor.variables
        if "_" in variable
    }
)


def vendor_of(variable: str) -> Vendor | None:
    """The vendor in the table whose secret the variable holds; `None` if there is none."""
    return next((vendor for vendor in VENDORS if variable in vendor.variables), None)


def is_secret_of_others(variable: str) -> bool:
    """Whether the variable's name is that of a secret that no model needs.

    That includes all names with a vendor's prefix: vendors have other secrets than model keys.
    """
    name = variable.upper()
    patterns = (*SECRETS_OF_OTHERS, *_OF_VENDORS)
    return any(fnmatchcase(name, pattern.upper()) for pattern in patterns)
