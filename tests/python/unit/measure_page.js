// Measures reports from inside the browser, and leaves what it found as JSON in place of the page.
// Run by test_report_in_browser.py, and in JupyterLab by recipes/test_jupyterlab.py. They put a number for CONTRAST.
const reports = [...document.querySelectorAll(".dovetail")];
const all = (selector) => reports.flatMap((report) => [...report.querySelectorAll(selector)]);
const rgba = (color) => { const n = color.match(/[\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1]; };
const linear = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const luminance = (color) => { const [r, g, b] = rgba(color).map(linear); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const background = (element) => {
  for (; element; element = element.parentElement) {
    const color = getComputedStyle(element).backgroundColor;
    if (rgba(color)[3] === 1) return color;
  }
  return "rgb(255,255,255)";
};

const dim = [];
for (const e of all("p,td,th,h1,h2,h3,caption,figcaption,summary,code,span.soft,span.badge,svg text:not(.number)")) {
  if (!e.textContent.trim()) continue;
  const style = getComputedStyle(e);
  const [a, b] = [luminance(e.ownerSVGElement ? style.fill : style.color), luminance(background(e))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < CONTRAST) dim.push(`${e.textContent.slice(0, 30)} ${contrast.toFixed(1)}`);
}

// Boxes of text are taller than its letters, and may touch by these many pixels.
const [BESIDE, ABOVE] = [2, 5];
const covered = [];
for (const svg of all("svg")) {
  const texts = [...svg.querySelectorAll("text:not([transform])")].map((t) => [t.textContent, t.getBoundingClientRect()]);
  texts.forEach(([a, x], i) => texts.slice(i + 1).forEach(([b, y]) => {
    const across = Math.min(x.right, y.right) - Math.max(x.left, y.left);
    const down = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
    if (across > BESIDE && down > ABOVE) covered.push(`${a} and ${b}`);
  }));
}

const root = document.documentElement;
const found = {
  dim,
  covered,
  overflow: Math.max(...[root, ...reports].map((e) => e.scrollWidth - e.clientWidth)),
  pictures: all("svg").length,
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  outside: performance.getEntriesByType("resource").length,
};
document.body.innerHTML = '<pre id="found"></pre>';
document.getElementById("found").textContent = JSON.stringify(found);
