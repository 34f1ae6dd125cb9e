/** Plain JavaScript, so that a hub that only serves built pages needs no compiler. @type {import("next").NextConfig} */
const config = {
  reactCompiler: true,
  reactStrictMode: true,
  poweredByHeader: false,
  // No page has images that need it, and it works for whoever asks.
  images: { unoptimized: true },
  // `npm run check` runs tsc over the whole project; the build does not do it a second time.
  typescript: { ignoreBuildErrors: true, tsconfigPath: "app/tsconfig.json" },
};

export default config;
