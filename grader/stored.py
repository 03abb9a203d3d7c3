"""Files that one version of the kit writes and a later one may read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from grader.assignment import UsageError

OTHER_FORMAT = "other_format"


class StoredModel(BaseModel):
    """The content of a file that a later kit may read. A newer format is refused, an older one is converted.

    Attributes:
        schema_version: The version of the format. A subclass whose format has changed gives it a higher default.
    """

    model_config = ConfigDict(allow_inf_nan=False)  # JSON has no NaN or infinity

    schema_version: int = 1

    @model_validator(mode="before")
    @classmethod
    def _update(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "schema_version" not in data:
            return data
        version, newest = data["schema_version"], cls.model_fields["schema_version"].default
        if type(version) is not int or not 1 <= version <= newest:
            sentence = "its format has version {version}, and this kit reads 1 to {newest}: use the kit that wrote it"
            raise PydanticCustomError(OTHER_FORMAT, sentence, {"version": str(version)[:20], "newest": newest})
        if version == newest:
            return data
        try:
            return cls.migrate(data) | {"schema_version": newest}
        except (LookupError, TypeError, AttributeError) as error:  # a part of it does not match this format
            raise ValueError(f"it does not match format {version}: {error}") from error

    @classmethod
    def migrate(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Return the content of an older file, with its `schema_version`, converted to the newest format."""
        raise NotImplementedError(f"{cls.__name__} has had one format only")


Stored = TypeVar("Stored", bound=StoredModel)


def read_stored(path: Path, kind: type[Stored]) -> Stored:
    """Return the content of a file.

    Raises:
        OSError: If it cannot be read.
        UsageError: If it has another format, or is damaged.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not an ordinary file; remove it, and run the same command again")
    try:
        return kind.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        what = f"{where}: {first['msg']}" if where else first["msg"]
        if first["type"] == OTHER_FORMAT:
            raise UsageError(f"{path} cannot be read: {what}") from error
        raise UsageError(f"{path} is damaged ({what}); remove it, and run the same command again") from error
