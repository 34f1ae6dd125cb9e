import { expect, it } from "vitest";
import { readAgent } from "./read-agent.ts";

const mozilla = (rest: string) => `Mozilla/5.0 ${rest}`;

it.each([
  [mozilla("(X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"), "Firefox", "Linux"],
  [mozilla("(Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36"), "Chrome", "Windows"],
  [mozilla("(Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0"), "Edge", "Windows"],
  [mozilla("(Macintosh; Intel Mac OS X 10_15) AppleWebKit/605 Version/18.0 Safari/605"), "Safari", "macOS"],
  [mozilla("(iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Safari/604"), "Safari", "iOS"],
  [mozilla("(Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"), "Chrome", "Android"],
  ["curl/8.5.0", "curl", null],
])("%s", (text, browser, system) => {
  expect(readAgent(text)).toEqual({ browser, system });
});

it("passes nothing on of what it does not know", () => {
  for (const text of ["", "<script>alert(1)</script>", "\u001b[2J", "Fire\u202efox", "x".repeat(100_000)]) {
    expect(readAgent(text)).toEqual({ browser: null, system: null });
  }
});
