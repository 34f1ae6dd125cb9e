import { expect, test } from "vitest";
import { addDuration, createDurations, samplesOf, writeExposition } from "./exposition.ts";
import { readExposition } from "./read-exposition.ts";

const head = (name: string, type: string) => `# HELP ${name} What it is.\n# TYPE ${name} ${type}\n`;

test("what is written is read as it was meant, hostile labels included", () => {
  const durations = createDurations([0.1, 1]);
  for (const seconds of [0.05, 0.1, 0.5, 7]) addDuration(durations, seconds);
  const hostile = 'a"b\\c\nd} 1\nx_total 5';
  const text = writeExposition([
    {
      name: "a_total",
      help: "Many\nlines.",
      type: "counter",
      samples: [{ labels: { run: hostile, x: "" }, value: 3 }],
    },
    { name: "b_seconds", help: "Durations.", type: "histogram", samples: samplesOf(durations) },
    { name: "c", help: "Nothing yet.", type: "gauge", samples: [] },
  ]);
  const [a, b, c] = readExposition(text);
  expect(a?.samples[0]?.labels.get("run")).toBe('a\\"b\\\\c\\nd} 1\\nx_total 5');
  expect(b?.samples.map(({ value }) => value)).toEqual([2, 3, 4, 7.65, 4]);
  expect(c?.samples).toEqual([]);
});

test.each([
  ["a sample without its type", "a 1\n"],
  ["a type without help", "# TYPE a gauge\na 1\n"],
  ["a line without its end", `${head("a", "gauge")}a 1`],
  ["a counter without _total", `${head("a", "counter")}a 1\n`],
  ["a gauge with _total", `${head("a_total", "gauge")}a_total 1\n`],
  ["a sample twice", `${head("a", "gauge")}a{x="1"} 1\na{x="1"} 2\n`],
  ["a value that is none", `${head("a", "gauge")}a one\n`],
  ["a unit that is not basic", `${head("a_ms", "gauge")}a_ms 1\n`],
  ["a label that is not quoted", `${head("a", "gauge")}a{x=1} 1\n`],
  ["a quote that was not escaped", `${head("a", "gauge")}a{x="a"b"} 1\n`],
  ["metrics that are mixed up", `${head("a", "gauge")}a 1\n${head("b", "gauge")}a{x="1"} 1\n`],
  ["an empty line", `${head("a", "gauge")}\na 1\n`],
  ["a histogram without its end", `${head("a", "histogram")}a_bucket{le="1"} 1\na_sum 1\na_count 1\n`],
  ["buckets that go down", `${head("a", "histogram")}a_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n`],
])("%s is refused", (_, text) => {
  expect(() => readExposition(text)).toThrow();
});
