import { expect, it } from "vitest";
import { partsBeyond } from "./keep-log-part.ts";

/** Parts of 10 bytes that begin at these bytes. */
const parts = (...froms: number[]) => froms.map((from) => ({ fromByte: BigInt(from), bytes: 10 }));
const beyond = (mostBytes: number, ...froms: number[]) =>
  partsBeyond(parts(...froms), mostBytes).map(({ fromByte }) => Number(fromByte));

it("keeps everything up to the limit, and then the first half and the newest half", () => {
  expect(beyond(40, 0, 10, 20, 30)).toEqual([]);
  expect(beyond(40, 0, 10, 20, 30, 40)).toEqual([20]);
  expect(beyond(40, 0, 10, 500, 510, 520, 530)).toEqual([500, 510]);
});

it("keeps the newest part where the limit is smaller than one, and nothing where it is 0", () => {
  expect(beyond(4, 0, 10, 20)).toEqual([10]);
  expect(beyond(0, 0, 10)).toEqual([0, 10]);
});
