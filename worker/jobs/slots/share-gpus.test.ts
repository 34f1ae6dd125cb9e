import { expect, it } from "vitest";
import { shareGpus } from "./share-gpus.ts";

const parts = (ids: string[], slots: number) =>
  shareGpus(ids, { slots, isNamed: false }).variables.map((one) => one["CUDA_VISIBLE_DEVICES"]);

it("gives each slot GPUs of its own, in their order", () => {
  expect(parts(["0", "1", "2", "3"], 2)).toEqual(["0,1", "2,3"]);
  expect(parts(["5"], 1)).toEqual(["5"]);
});

it("gives the first slots one more where the GPUs do not divide, and says so", () => {
  const ids = ["0", "1", "2", "3", "4", "5", "6", "7"];
  expect(parts(ids, 3)).toEqual(["0,1,2", "3,4,5", "6,7"]);
  expect(shareGpus(ids, { slots: 3, isNamed: false }).sentence).toBe(
    "Serving 3 slots, with these GPUs: slot 1: 0,1,2; slot 2: 3,4,5; slot 3: 6,7. 8 GPUs do not divide by 3: the first 2 have one more.",
  );
  expect(shareGpus(ids, { slots: 4, isNamed: false }).sentence).not.toContain("divide");
});

it("counts indexes by the bus, as nvidia-smi does, and leaves the order to the person who named the GPUs", () => {
  expect(shareGpus(["0"], { slots: 1, isNamed: false }).variables).toEqual([
    { CUDA_VISIBLE_DEVICES: "0", CUDA_DEVICE_ORDER: "PCI_BUS_ID" },
  ]);
  expect(shareGpus(["GPU-ab"], { slots: 1, isNamed: true }).variables).toEqual([{ CUDA_VISIBLE_DEVICES: "GPU-ab" }]);
});

it("refuses more slots than GPUs, and serves slots on a machine without any", () => {
  expect(() => shareGpus(["0", "1"], { slots: 3, isNamed: false })).toThrow(/use --slots 2 or fewer/);
  expect(shareGpus([], { slots: 2, isNamed: false })).toEqual({
    variables: [{}, {}],
    sentence: "Serving 2 slots without GPUs: nvidia-smi and CUDA_VISIBLE_DEVICES name none.",
  });
});
