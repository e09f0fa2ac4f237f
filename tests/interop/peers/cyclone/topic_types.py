"""The types of the topics, as Cyclone DDS has them."""

from dataclasses import dataclass
from typing import Optional

from cyclonedds.idl import IdlEnum, IdlStruct, IdlUnion
from cyclonedds.idl.annotations import appendable, final, key
from cyclonedds.idl.types import array, byte, case, default, float64, int16, int32, int64, sequence, uint32, uint64


@dataclass
@final
class ShapeType(IdlStruct, typename="ShapeType"):
    color: str
    key("color")
    x: int32
    y: int32
    shapesize: int32


class VideoEncoding(IdlEnum, typename="VideoEncoding"):
    MJPEG = 0
    H264 = 1
    RAW_I420 = 2
    RAW_RGB24 = 3
    RAW_GRAY8 = 4
    RAW_YUYV = 5
    OPAQUE = 6


@dataclass
@final
class VideoFrame(IdlStruct, typename="VideoFrame"):
    camera_id: str
    key("camera_id")
    frame_number: uint64
    capture_timestamp: int64
    encoding: VideoEncoding
    width: uint32
    height: uint32
    key_frame: bool
    payload: sequence[byte]


class Quality(IdlEnum, typename="survey.Quality"):
    UNKNOWN = 0
    GOOD = 1
    BAD = 5


@dataclass
@appendable
class Position(IdlStruct, typename="survey.Position"):
    lat: float64
    lon: float64


@appendable
class Reading(IdlUnion, discriminator=int32, typename="survey.Reading"):
    counted: case[0, int64]
    told: case[[1, 2], str]
    seen: case[3, Position]
    measured: default[float64]


@dataclass
@appendable
class Report(IdlStruct, typename="survey.Report"):
    """Has what `dunlin echo` and `dunlin pub`, which do not know it, must find out."""

    station: uint32
    key("station")
    place: Position
    track: sequence[Position]
    levels: sequence[int16]
    corners: array[byte, 3]
    quality: Quality
    readings: sequence[Reading]
    note: Optional[str]


def report(number):
    """The report that a peer writes: its number decides all members."""
    track = [Position(float(number), i + 0.5) for i in range(number)]
    readings = [Reading(counted=number << 40), Reading(told=f"station {number}"), Reading(seen=track[0])]
    readings.append(Reading(discriminator=9, value=number / 4))
    corners, levels = [number, number + 1, 255], [-number, 0, number]
    note = f"note {number} äöü" if number % 2 else None
    return Report(number, Position(50.25, -number), track, levels, corners, Quality.GOOD, readings, note)


def plain(value):
    """A value as JSON can have it."""
    if isinstance(value, IdlUnion):
        return {"_d": value.discriminator, "value": plain(value.value)}
    if isinstance(value, IdlStruct):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, IdlEnum):
        return value.name
    if isinstance(value, (list, tuple, bytes)):
        return [plain(item) for item in value]
    return value
