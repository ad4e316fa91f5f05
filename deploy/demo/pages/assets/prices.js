const euros = new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' });
for (const place of document.querySelectorAll('[data-cents]')) {
  place.textContent = euros.format(Number(place.dataset.cents) / 100);
}
