import { expect, it } from "vitest";
import { lossSentence, moneyWords } from "./lost-work-words.ts";

it("says what was lost, and what it cost where that is known", () => {
  const sum = { interruptions: 2, lostSteps: 1_200, lostMs: 5_400_000, costs: [] };
  expect(lossSentence(sum)).toBe("2 interruptions: 1,200 steps, 1 h 30 min done again");
  const costs = [
    { currency: "USD", amount: 1234.5 },
    { currency: "EUR", amount: 0.004 },
  ];
  expect(lossSentence({ ...sum, interruptions: 1, costs })).toBe(
    "1 interruption: 1,200 steps, 1 h 30 min done again, 1,234.50 USD and under 0.01 EUR",
  );
  expect(lossSentence({ interruptions: 0, lostSteps: 0, lostMs: 0, costs: [] })).toBe("no work was lost");
});

it("does not round a cost down to nothing", () => {
  expect(moneyWords({ currency: "USD", amount: 0 })).toBe("0.00 USD");
  expect(moneyWords({ currency: "USD", amount: 0.0001 })).toBe("under 0.01 USD");
});
