import { expect, it } from "vitest";
import type { EventRow } from "#protocol/wire/views.ts";
import { askedBy, fitsFilter, type EventFilter } from "./event-filter.ts";

const ALL: EventFilter = { kind: "", node: "", run: "", words: "", fromDay: "", toDay: "" };
const event: EventRow = {
  id: 1,
  at: new Date("2026-11-22T13:00:00").getTime(),
  kind: "program-ended",
  work: "risk",
  nodeId: "node-0001",
  nodeName: "gpu-7",
  run: "llama",
  step: null,
  text: "saw the program of llama end with 1",
  detail: "CUDA out of memory",
  fault: null,
};

it.each<[string, Partial<EventFilter>, boolean]>([
  ["everything", {}, true],
  ["its kind", { kind: "program-ended" }, true],
  ["another kind", { kind: "node-silent" }, false],
  ["part of the node's name", { node: "GPU" }, true],
  ["another node", { node: "gpu-8" }, false],
  ["part of the run's name", { run: "lla" }, true],
  ["the program's last words", { words: "cuda OUT" }, true],
  ["words that nobody said", { words: "disk full" }, false],
  ["its day", { fromDay: "2026-11-22", toDay: "2026-11-22" }, true],
  ["the day after", { fromDay: "2026-11-23" }, false],
  ["the day before", { toDay: "2026-11-21" }, false],
  ["a day that is none", { fromDay: "soon" }, true],
])("a live event and %s", (_, filter, fits) => {
  expect(fitsFilter(event, { ...ALL, ...filter })).toBe(fits);
});

it("a span of days ends with its last one", () => {
  const { from, to } = askedBy({ ...ALL, fromDay: "2026-11-20", toDay: "2026-11-22" });
  expect(from).toBe(new Date("2026-11-20T00:00:00").getTime());
  expect(to).toBe(new Date("2026-11-23T00:00:00").getTime());
});
