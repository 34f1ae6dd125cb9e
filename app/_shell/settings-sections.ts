/** Sections of the settings, with further words that match them in the palette. */
export const SECTIONS: readonly { href: string; text: string; also?: string; role?: "admin" }[] = [
  { href: "/settings", text: "Account", also: "password sign out" },
  { href: "/settings#sessions", text: "Sessions", also: "signed in browsers" },
  { href: "/settings#browser", text: "This browser", also: "theme rates sizes times units zone dark light" },
  { href: "/settings#about", text: "About", also: "version" },
  { href: "/settings?show=tokens", text: "Join tokens and API tokens" },
  { href: "/settings?show=people", text: "People", also: "accounts invitations roles", role: "admin" },
  { href: "/settings?show=audit", text: "Audit", also: "who did what", role: "admin" },
  { href: "/settings?show=hub", text: "Settings of the hub", also: "environment", role: "admin" },
];
