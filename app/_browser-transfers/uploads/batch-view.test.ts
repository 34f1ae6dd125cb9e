import { expect, it } from "vitest";
import { askedFor, piecesOf, titleMark, type BatchView } from "./batch-view.ts";

const MIB = 1024 ** 2;
const file = (over: Partial<Parameters<typeof piecesOf>[0][number]>) => ({
  index: 0,
  state: "waiting" as const,
  sizeBytes: 10 * MIB,
  partBytes: null,
  ...over,
});

it("draws files by their bytes and not by how many they are", () => {
  const small = Array.from({ length: 39 }, (_, index) => file({ index, state: "done", sizeBytes: 15 * 1024 }));
  const large = file({ index: 39, state: "running", sizeBytes: 150 * MIB, partBytes: 5 * MIB });
  expect(piecesOf([...small, large], () => null)).toBe(`>${".".repeat(199)}`);
});

it("draws the parts of each file that moves, and what had arrived before the page was loaded", () => {
  const parts = ["#", ">", ".", "#"];
  const map = piecesOf(
    [file({ state: "running", partBytes: 2.5 * MIB }), file({ index: 1, doneBytes: 5 * MIB })],
    (index) => (index === 0 ? parts : null),
  );
  expect(map).toBe(`${"#".repeat(25)}>${".".repeat(49)}${"#".repeat(25)}${"#".repeat(50)}${".".repeat(50)}`);
});

it("asks for a folder where all that is missing lies below one, and for files otherwise", () => {
  expect(askedFor([{ path: "dataset/a/1.bin" }, { path: "dataset/2.bin" }])).toMatchObject({
    pick: "folder",
    name: "dataset",
  });
  expect(askedFor([{ path: "dataset/1.bin" }, { path: "other/2.bin" }])).toMatchObject({ pick: "folder", name: null });
  expect(askedFor([{ path: "weights.bin" }])).toMatchObject({ pick: "files", name: "weights.bin" });
  expect(askedFor([{ path: "weights.bin" }, { path: "dataset/1.bin" }])).toMatchObject({ pick: "files", name: null });
});

it("puts what all running uploads have done before the title", () => {
  const batch = (state: BatchView["state"], bytesDone: number, bytesTotal: number) =>
    ({ state, bytesDone, bytesTotal }) as BatchView;
  expect(titleMark([batch("running", 10, 100), batch("running", 20, 100), batch("ended", 5, 5)])).toBe("15% ↑ ");
  expect(titleMark([batch("running", 0, 0)])).toBe("0% ↑ ");
  expect(titleMark([batch("running", 999, 1000)])).toBe("99% ↑ ");
  expect(titleMark([batch("paused", 10, 100)])).toBe("");
});
