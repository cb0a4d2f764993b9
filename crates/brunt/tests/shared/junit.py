# Prints a JUnit file, as junitparser reads it, as JSON: the suites, each with its counts as written and as counted again.
import json
import sys

from junitparser import JUnitXml


def counts(suite):
    return [suite.tests, suite.failures, suite.errors, suite.skipped]


def case(one):
    results = [[type(result).__name__, result.message] for result in one.result]
    return {"classname": one.classname, "name": one.name, "time": one.time, "results": results}


suites = []
for suite in JUnitXml.fromfile(sys.argv[1]):
    written = counts(suite)
    suite.update_statistics()
    suites.append({"name": suite.name, "written": written, "counted": counts(suite), "cases": [case(one) for one in suite]})
print(json.dumps(suites))
