import { expect, it } from "vitest";
import { foldPieces, piecesOf, titleMark, type BatchView } from "./batch-view.ts";

it("shows parts of one file, and files where there are more", () => {
  expect(piecesOf([{ state: "running" }], ["#", ">", "."])).toBe("#>.");
  expect(piecesOf([{ state: "done" }, { state: "same" }, { state: "running" }, { state: "failed" }], null)).toBe(
    "##>.",
  );
});

it("folds many into a map that is safe where all are and moves where one does", () => {
  const signs = Array.from({ length: 9000 }, (_, index) => (index < 4000 ? "#" : index === 5000 ? ">" : "."));
  const map = foldPieces(signs);
  expect(map.length).toBe(240);
  expect(map.startsWith("#".repeat(106))).toBe(true);
  expect(map.split("").filter((sign) => sign === ">")).toHaveLength(1);
});

it("puts what all running uploads have done before the title", () => {
  const batch = (state: BatchView["state"], bytesDone: number, bytesTotal: number) =>
    ({ state, bytesDone, bytesTotal }) as BatchView;
  expect(titleMark([batch("running", 10, 100), batch("running", 20, 100), batch("ended", 5, 5)])).toBe("15% ↑ ");
  expect(titleMark([batch("running", 0, 0)])).toBe("0% ↑ ");
  expect(titleMark([batch("paused", 10, 100)])).toBe("");
});
