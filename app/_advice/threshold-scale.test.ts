import { expect, test } from "vitest";
import { countPlaces, placeOfRate, placeOfRtt, rateAt, RATE_PLACES, rttAt, RTT_PLACES } from "./threshold-scale.ts";

test("every place of a rate leads back to itself, and the thresholds of the guide are among them", () => {
  const places = Array.from({ length: RATE_PLACES + 1 }, (_, place) => place);
  expect(places.map((place) => placeOfRate(rateAt(place)))).toEqual(places);
  expect(places.map(rateAt)).toContain(2_500_000);
  expect(places.map(rateAt)).toContain(6_250_000);
  expect([rateAt(0), rateAt(1), rateAt(RATE_PLACES)]).toEqual([null, 125_000, 125_000_000]);
});

test("every place of a round trip leads back to itself, and the last allows any", () => {
  const places = Array.from({ length: RTT_PLACES }, (_, index) => index + 1);
  expect(places.map((place) => placeOfRtt(rttAt(place)))).toEqual(places);
  expect([rttAt(1), rttAt(15), rttAt(RTT_PLACES)]).toEqual([10, 150, null]);
});

test("values are counted at their places, those beyond the ends at the ends", () => {
  const asIs = { placeOf: (value: number) => value, first: 1, last: 4 };
  expect(countPlaces([0, 1, 3, 3, 9, null], asIs)).toEqual([2, 0, 2, 1]);
});
