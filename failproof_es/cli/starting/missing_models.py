"""Before a run starts, installs its missing models that can be installed by name."""

from __future__ import annotations

from failproof_es.cli.rendering.output import say
from failproof_es.configuration.schema import Configuration
from failproof_es.models.provider_type import ModelInstaller, provider_type
from failproof_es.models.trust.permissions import models_of
from failproof_es.support.extras import EXTRAS, require


def install_missing(configuration: Configuration) -> None:
    """Install the models and judges of the configuration that are missing and can be installed.

    Says so on stderr. Raises `InvalidInput` if one cannot be installed.
    """
    for _, model in models_of(configuration):
        provider = provider_type(model.provider)
        if not isinstance(provider, ModelInstaller):
            continue
        missing = {
            installable.name: installable
            for installable in provider.installable()
            if not installable.installed
        }
        if model.model in missing:
            if model.provider in EXTRAS:
                require(model.provider, f"the model {model.model}")
            say(f"installing {model.model} ({missing[model.model].source}, once) …")
            provider.install(model.model)
