import { describe, expect, it } from "vitest";
import { emulatedFleet, GUIDE_PAIRS, STORES } from "./emulated-fleet.ts";

describe("an emulated fleet", () => {
  const fleet = emulatedFleet({ nodes: 20, seed: 7 });

  it("stands where the guide's nodes stood", () => {
    const count = (region: string) => fleet.filter((node) => node.region === region).length;
    expect([count("north-america"), count("europe"), count("south-america")]).toEqual([12, 5, 3]);
    expect(new Set(fleet.map(({ name }) => name)).size).toBe(20);
  });

  it("has a link of its own for every node and store, near the guide's round trip", () => {
    for (const { region, links } of fleet) {
      for (const store of STORES) {
        const { rttMs, upMbit, downMbit } = links[store];
        expect(Math.abs(rttMs / GUIDE_PAIRS[region][store].rttMs - 1)).toBeLessThanOrEqual(0.155);
        for (const rate of [upMbit, downMbit]) {
          expect(rate).toBeGreaterThanOrEqual(8);
          expect(rate).toBeLessThanOrEqual(60);
        }
        expect(downMbit).toBeGreaterThanOrEqual(upMbit);
      }
    }
    const rates = new Set(fleet.map(({ links }) => links["us-east"].upMbit));
    expect(rates.size).toBeGreaterThan(15);
  });

  it("loses packets on some links, and has some that are the same both ways", () => {
    const losses = fleet.map(({ links }) => links["us-west"].lossPercent);
    expect(losses.filter((loss) => loss > 0)).toHaveLength(8);
    expect(fleet.filter(({ links }) => links["us-east"].upMbit === links["us-east"].downMbit)).toHaveLength(5);
  });

  it("is decided by its seed", () => {
    expect(emulatedFleet({ nodes: 20, seed: 7 })).toEqual(fleet);
    expect(emulatedFleet({ nodes: 20, seed: 8 })).not.toEqual(fleet);
  });

  it("of three nodes has one in every region", () => {
    const regions = emulatedFleet({ nodes: 3, seed: 1 }).map(({ region }) => region);
    expect(new Set(regions).size).toBe(3);
  });
});
