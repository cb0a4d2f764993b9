//! Values in columns of JSON.

use rusqlite::types::{FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use serde::{Serialize, de::DeserializeOwned};

pub(super) fn to_json<T: Serialize>(value: &T) -> rusqlite::Result<ToSqlOutput<'_>> {
    let json = serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    Ok(json.into())
}

pub(super) fn from_json<T: DeserializeOwned>(value: ValueRef<'_>) -> FromSqlResult<T> {
    serde_json::from_str(value.as_str()?).map_err(FromSqlError::other)
}
