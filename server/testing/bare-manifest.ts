/** For tests: the fields of a manifest that has no files yet, as a node sends them. */
export const BARE_MANIFEST = {
  format: "tidemark.checkpoint",
  version: 1,
  id: "abcdefgh",
  run: "a",
  step: 1,
  writerEpoch: 1,
  parent: null,
  attempt: "abcdefghijkl",
  node: { id: "abcdefgh", name: "a" },
  framework: null,
  metrics: {},
  capturedAt: 1,
  sizeBytes: 1,
  homes: [{ profileId: "abcdefgh", bucket: "b", prefix: "" }],
  transform: { kind: "none" },
};
