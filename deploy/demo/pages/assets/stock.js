fetch('/api/stock.json')
  .then((answer) => answer.json())
  .then((stock) => {
    document.getElementById('stock').textContent = `${stock.in_stock} of 8 in the workshop, counted ${stock.counted}.`;
  });
