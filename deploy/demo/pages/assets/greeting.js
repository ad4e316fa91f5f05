const hour = new Date().getHours();
document.documentElement.dataset.evening = String(hour >= 18 || hour < 6);
