import { expect, it } from "vitest";
import { sentenceOf, toFault } from "#protocol/faults/fault.ts";
import { readNotify } from "./read-notify.ts";

it.each([
  ["https://hooks.slack.com/services/T/B/x", "slack", "https://hooks.slack.com/services/T/B/x"],
  ["https://discord.com/api/webhooks/1/x", "discord", "https://discord.com/api/webhooks/1/x"],
  ["https://ntfy.sh/my-topic", "ntfy", "https://ntfy.sh/my-topic"],
  ["ntfy:http://10.0.0.5:8080/my-topic", "ntfy", "http://10.0.0.5:8080/my-topic"],
  ["slack:https://chat.example.com/hooks/x", "slack", "https://chat.example.com/hooks/x"],
  ["https://slack.com.example.net/x", "webhook", "https://slack.com.example.net/x"],
])("%s is a channel of kind %s", (text, kind, url) => {
  expect(readNotify(text, null)).toMatchObject({ kind, secret: { url, key: "" } });
});

it.each([
  ["hooks.example.com/x", null, "an address looks like https://"],
  ["pagerduty:https://events.pagerduty.com/x", null, "the kinds are slack, discord, ntfy, webhook"],
  ["https://hooks.example.com/s3cret", "short", "at least 16 characters"],
  ["https://ntfy.sh/a/b c", null, "ntfy topic"],
])("%s with the key %s is refused without naming the address", (text, key, why) => {
  let said = "";
  try {
    readNotify(text, key);
  } catch (error) {
    said = sentenceOf(toFault(error).toData());
  }
  expect(said).toContain(why);
  expect(said).not.toContain("s3cret");
});
