import { expect, test } from "vitest";
import { shownPlace } from "#protocol/checkpoint/place.ts";
import {
  askedChoice,
  costWords,
  freeWords,
  pathWrong,
  patternsOf,
  patternsWrong,
  putWhere,
  wholeTimeMs,
} from "./restore-choice.ts";

test("nodes that go one after the other take the sum, side by side the longest", () => {
  expect(wholeTimeMs([10, 20, 30], 1)).toBe(60);
  expect(wholeTimeMs([10, 20, 30], 3)).toBe(30);
  expect(wholeTimeMs([10, 20, 30, 5], 2)).toBe(40);
  expect(wholeTimeMs([10, null], 2)).toBeNull();
});

test("what it costs is said for all nodes, and what is left out of it", () => {
  const cost = { currency: "USD" as const, egress: 0.4, requests: 0, total: 0.4, free: { gb: 100, timesStored: 0 } };
  expect(costWords(cost, 3)).toBe("about $1.20");
  expect(costWords({ ...cost, total: 0.001 }, 1)).toBe("less than $0.01");
  expect(costWords(null, 1)).toBeNull();
  expect(freeWords(cost)).toBe("; 100 GB a month may leave for nothing");
  expect(freeWords({ ...cost, free: null })).toBe("");
});

test("a path is absolute and does not climb", () => {
  expect(pathWrong("/data/x")).toBeUndefined();
  for (const path of ["", "/", "data", "/data/../etc"]) expect(pathWrong(path)).toBeDefined();
});

test("the dialog says as what, under which name and where a restore puts it", () => {
  const said = (place: { path: string; kind: "file" | "files" | "folder" }, target: string) => {
    const put = putWhere({ place: shownPlace.parse(place) }, target);
    return put === null ? null : `${put.what} ${put.name} in ${put.folder}; ${put.note}`;
  };
  const file = { path: "lightning_logs/version_0/checkpoints/epoch=5-step=600.ckpt", kind: "file" } as const;
  expect(said(file, `/w/${file.path}`)).toBe(
    "the file epoch=5-step=600.ckpt in /w/lightning_logs/version_0/checkpoints; the place where it lay",
  );
  expect(said(file, "/else/epoch=5-step=600.ckpt")).toBe("the file epoch=5-step=600.ckpt in /else; its own name");
  expect(said(file, "/else/best/")).toBe(
    "the folder best in /else; with epoch=5-step=600.ckpt in it: the path has another name",
  );
  expect(said({ path: "model_10.pt", kind: "files" }, "/model_10.pt")).toBe(
    "the files of this step, first model_10.pt in /; its own name",
  );
  expect(said({ path: "step_200", kind: "folder" }, "/w/checkpoint-200")).toBe(
    "the folder checkpoint-200 in /w; it was called step_200",
  );
  expect(said(file, "relative")).toBeNull();
});

test("patterns are lines, and what cannot be read is said", () => {
  expect(patternsOf(null)).toBeNull();
  expect(patternsOf(" a.*\n\nb\na.*\n")).toEqual(["a.*", "b"]);
  expect(patternsWrong("a.*\nb{c")).toBe("b{c: a { is never closed");
  expect(patternsWrong("a".repeat(5_000))).toContain("more than 4000 characters");
  expect(patternsWrong("a.*")).toBeUndefined();
});

test("files and tensors are asked for together, and no pattern means whole files", () => {
  expect(askedChoice({ files: null, patterns: null })).toBeNull();
  expect(askedChoice({ files: ["a"], patterns: [] })).toEqual({ files: ["a"] });
  expect(askedChoice({ files: null, patterns: ["x"] })).toEqual({ tensors: ["x"] });
  expect(askedChoice({ files: ["a"], patterns: ["x"] })).toEqual({ tensors: ["x"], files: ["a"] });
});
