// Texts of the page whose contrast with what is behind them is below 4.5; the body of a function.
const parse = (text) => {
  const numbers = text.match(/[\d.]+/g).map(Number);
  if (text.startsWith('color(srgb')) return [...numbers.slice(0, 3).map((n) => n * 255), numbers[3] ?? 1];
  return [...numbers.slice(0, 3), numbers[3] ?? 1];
};
const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
const back = (el) => {
  const layers = [];
  for (; el; el = el.parentElement) {
    const color = parse(getComputedStyle(el).backgroundColor);
    if (color[3]) layers.push(color);
    if (color[3] === 1) break;
  }
  return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
};
const light = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const faint = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const el = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || el.closest('svg, noscript, :disabled') || !el.checkVisibility()) continue;
  const [a, b] = [light(parse(getComputedStyle(el).color)), light(back(el))].sort((x, y) => y - x);
  const contrast = (a + 0.05) / (b + 0.05);
  if (contrast < 4.5) faint.push(`${walk.currentNode.data.trim().slice(0, 30)}: ${contrast.toFixed(2)} in ${el.className}`);
}
return [...new Set(faint)];
