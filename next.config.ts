import type { NextConfig } from "next";

const config: NextConfig = {
  reactCompiler: true,
  reactStrictMode: true,
  poweredByHeader: false,
  // `npm run check` runs tsc over the whole project; the build does not do it a second time.
  typescript: { ignoreBuildErrors: true, tsconfigPath: "app/tsconfig.json" },
};

export default config;
