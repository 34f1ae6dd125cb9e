import { expect, test } from "vitest";
import { linkTo, pointerTo } from "./pointers.ts";

const FOLDER = "/w/out";
const point = (name: string, text: string) => ({ name, folder: FOLDER, text });
const file = (name: string, step: number) => ({ path: `${FOLDER}/${name}`, name, step });
const bundle = (step: number) => {
  const names = [`ckpt-${step}.data-00000-of-00001`, `ckpt-${step}.index`];
  return { ...file(names[0] ?? "", step), names };
};
const state = (newest: string, all: readonly string[], times: readonly number[] = []) =>
  [
    `model_checkpoint_path: "${newest}"`,
    ...all.map((one) => `all_model_checkpoint_paths: "${one}"`),
    ...times.map((time) => `all_model_checkpoint_timestamps: ${time}`),
    "last_preserved_timestamp: 1700000000.5",
    "",
  ].join("\n");

test("TensorFlow's state names an older checkpoint that is kept, with those before it in its list", () => {
  const text = state("ckpt-30", ["ckpt-10", "ckpt-20", "ckpt-30"], [1.5, 2.5, 3.5]);
  expect(pointerTo(point("checkpoint", text), bundle(20))).toBe(state("ckpt-20", ["ckpt-10", "ckpt-20"], [1.5, 2.5]));
  expect(pointerTo(point("checkpoint", text), bundle(30))).toBeNull();
});

test("TensorFlow's state names a checkpoint that it does not list yet, or not any more", () => {
  const text = state("ckpt-20", ["ckpt-10", "ckpt-20"], [1.5, 2.5]);
  expect(pointerTo(point("checkpoint", text), bundle(30))).toBe(state("ckpt-30", ["ckpt-10", "ckpt-20", "ckpt-30"]));
  expect(pointerTo(point("checkpoint", text), bundle(5))).toBe(state("ckpt-5", ["ckpt-5"]));
});

test("an absolute path in TensorFlow's state becomes one beside it, since the next node has another folder", () => {
  const text = state("/w/out/ckpt-20", ["/w/out/ckpt-10", "/w/out/ckpt-20"]);
  expect(pointerTo(point("checkpoint", text), bundle(20))).toBe(state("ckpt-20", ["ckpt-10", "ckpt-20"]));
});

test("a file named checkpoint with another content, or beside another format, stays as it is", () => {
  expect(pointerTo(point("checkpoint", "epoch 3"), bundle(20))).toBeNull();
  expect(pointerTo(point("checkpoint", state("ckpt-30", [])), file("model_20.pt", 20))).toBeNull();
});

test("Detectron2's last_checkpoint names the file, MMEngine's with its folder", () => {
  const own = file("model_0000099.pth", 99);
  expect(pointerTo(point("last_checkpoint", "model_final.pth"), own)).toBe("model_0000099.pth");
  expect(pointerTo(point("last_checkpoint", "work_dirs/net/model_0000199.pth\n"), own)).toBe(
    "work_dirs/net/model_0000099.pth",
  );
  expect(pointerTo(point("last_checkpoint", "model_0000099.pth\n"), own)).toBeNull();
  expect(pointerTo(point("latest_checkpoint.txt", "400"), own)).toBe("99");
});

test("a link to the newest checkpoint leads to the one that is kept, one to the best stays", () => {
  const own = { ...file("ep0-ba10-rank0.pt", 10), names: ["ep0-ba10-rank0.pt", "ep0-ba10-rank1.pt"] };
  const to = (name: string, target: string) => linkTo({ name, target: `${FOLDER}/${target}` }, own);
  expect(to("latest-rank1.pt", "ep0-ba20-rank1.pt")).toBe(`${FOLDER}/ep0-ba10-rank1.pt`);
  expect(to("latest-rank1.pt", "ep0-ba10-rank1.pt")).toBeNull();
  expect(to("best.pt", "ep0-ba20-rank1.pt")).toBeNull();
  expect(to("latest", "other.pt")).toBeNull();
});
