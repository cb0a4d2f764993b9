# Reads bodies of OTLP requests, one a line, into the messages of the protocol's own definitions, which refuse unknown keys and
# values of another type. Prints the sums and the counts of histograms in the window by the name of their metric, as JSON.
import json
import sys
from collections import Counter

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_DELTA

found = Counter()


def attributes(point):
    return {one.key: one.value.string_value for one in point.attributes}


for line in sys.stdin:
    for resource in Parse(line, ExportMetricsServiceRequest()).resource_metrics:
        for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
            kind = metric.WhichOneof("data")
            points = getattr(metric, kind).data_points
            assert points, metric
            if kind != "gauge":
                assert getattr(metric, kind).aggregation_temporality == AGGREGATION_TEMPORALITY_DELTA, metric
            for point in points:
                assert point.time_unix_nano > 0, metric
                of = attributes(point)
                name = " ".join([metric.name, *([of["end"]] if "end" in of else [])])
                if kind == "gauge":
                    found[name] += 1
                elif of["phase"] == "window":
                    found[name] += point.as_int if kind == "sum" else point.count
                if kind == "histogram":
                    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1, metric
                    assert sum(point.bucket_counts) == point.count, metric
print(json.dumps(found))
