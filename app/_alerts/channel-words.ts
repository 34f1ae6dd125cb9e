import type { ChannelKind } from "#protocol/alerts.ts";

/** What each kind asks for. */
export const CHANNEL_WORDS: Readonly<Record<ChannelKind, { label: string; address: string; key: string | null }>> = {
  slack: { label: "Slack", address: "https://hooks.slack.com/services/…", key: null },
  discord: { label: "Discord", address: "https://discord.com/api/webhooks/…", key: null },
  ntfy: { label: "ntfy", address: "https://ntfy.sh/my-topic", key: "Access token, if the topic needs one." },
  webhook: {
    label: "Webhook",
    address: "https://example.com/hook",
    key: "At least 16 characters. Every message is signed with it (HMAC-SHA256).",
  },
};
