import "./theme.css";
import type { Metadata, Viewport } from "next";
import localFont from "next/font/local";
import { cookies, headers } from "next/headers";
import type { ReactNode } from "react";
import { parseTheme, THEME_COOKIE } from "./_hub/preferences/theme-cookie.ts";
import { Providers } from "./providers.tsx";

// Every response carries a nonce of its own (content security policy), so pages cannot be prerendered.
export const dynamic = "force-dynamic";

/**
 * Latin letters of Inter, preloaded with the page: a headline in a fallback font wraps differently and moves the content below
 * it. Other alphabets load on demand (theme.css).
 */
const inter = localFont({
  src: "../node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
  variable: "--font-inter",
  weight: "100 900",
  display: "swap",
  // The generated fallback font would precede the other alphabets of the same font.
  adjustFontFallback: false,
  declarations: [
    {
      prop: "unicode-range",
      value:
        "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,U+0329,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215,U+FEFF,U+FFFD",
    },
  ],
});

const ABOUT = "What would be lost if any node died right now, and the way back to any checkpoint.";

export async function generateMetadata(): Promise<Metadata> {
  return {
    metadataBase: await ownAddress(),
    title: { template: "%s · Tidemark", default: "Tidemark" },
    description: ABOUT,
    applicationName: "Tidemark",
    robots: { index: false, follow: false },
    openGraph: {
      type: "website",
      siteName: "Tidemark",
      title: "Tidemark",
      description: ABOUT,
      images: [
        { url: "/og.png", width: 1200, height: 630, alt: "The overview: what is at risk and what was made safe" },
      ],
    },
    twitter: { card: "summary_large_image" },
  };
}

/** Returns the origin of this request, because images in link previews need absolute URLs. */
async function ownAddress(): Promise<URL | null> {
  const asked = await headers();
  const scheme = asked.get("x-forwarded-proto") === "https" ? "https" : "http";
  const address = `${scheme}://${asked.get("host") ?? ""}`;
  return URL.canParse(address) ? new URL(address) : null;
}

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
    <html
      lang="en"
      className={inter.variable}
      {...(theme === "system" ? {} : { "data-theme": theme })}
      suppressHydrationWarning
    >
      <body>
        <Providers>{children}</Providers>
      </body>
    </html>
  );
}
