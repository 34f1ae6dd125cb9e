import "./theme.css";
import type { Metadata, Viewport } from "next";
import { cookies } from "next/headers";
import type { ReactNode } from "react";
import { parseTheme, THEME_COOKIE } from "./_hub/theme-cookie.ts";
import { Providers } from "./providers.tsx";

// Every answer carries a nonce of its own (the content security policy), so no page can be made in advance.
export const dynamic = "force-dynamic";

export const metadata: Metadata = {
  title: { template: "%s · Tidemark", default: "Tidemark" },
  description: "What would be lost if any node died right now, and the way back to any checkpoint.",
  applicationName: "Tidemark",
  robots: { index: false, follow: false },
};

export const viewport: Viewport = {
  width: "device-width",
  initialScale: 1,
  viewportFit: "cover",
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#eef0f1" },
    { media: "(prefers-color-scheme: dark)", color: "#0f1316" },
  ],
};

export default async function RootLayout({ children }: { children: ReactNode }) {
  const theme = parseTheme((await cookies()).get(THEME_COOKIE)?.value);
  return (
    <html lang="en" {...(theme === "system" ? {} : { "data-theme": theme })} suppressHydrationWarning>
      <body>
        <Providers>{children}</Providers>
      </body>
    </html>
  );
}
